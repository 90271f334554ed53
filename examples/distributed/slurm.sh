#!/bin/bash
# A job of Slurm that runs a program in four processes: sbatch slurm.sh train_digits.py
#SBATCH --ntasks=4
#SBATCH --cpus-per-task=2
#SBATCH --time=00:10:00

export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-1} # of each process

# mpirun takes the machines and the number of processes from the job. Where Slurm's PMIx plug-in is
# of the version that MPI was built with, `srun --mpi=pmix python "$@"` does the same.
exec mpirun -n "${SLURM_NTASKS:-2}" ${MPIRUN_OPTIONS-} python "$@"
