"""Which runs of `make test` a file belongs to, beside the one that takes them all."""

FILES = {
    # Results or captures depend on which kernels compute: once more with each set of kernels.
    "kernels": """
        array_reductions complex compute_dtype conv_kernels dtype_rules fast_convolutions few_rows fft
        float64_functions halves indexed large_products layouts linalg loops_in_gradients memory models more_ops
        nn number_conversions numerics openmp ops packed pairwise_sums parts_of_values programs recurrent_layers
        regions_on_tape short_axes sparse special stored_columns threads training truncated_normal vector_loops
        vmap""",
    # Names and modules take part: once more as MindSpore's.
    "alias": """
        callees cells_inside compat composite graph_mode hooks instances library_objects mint own_gradients
        training_programs""",
    # The interpreter's own structures, instructions and order of events take part.
    "versions": """
        ages array_loops array_programs array_reductions branches breaks_anywhere bytecode callees calls
        capture collections container_values effects exceptions generators hostile_containers instances
        lifetimes loops_left_alone memo number_loops number_loops_functions number_loops_lists pairwise_sums
        python_objects recursion sampling scripts sets threads views""",
    # What is measured or counted (times, threads, signals) needs the machine for itself.
    "serial": """
        garbage gil given_back hostile_values loops_left_alone number_loops_told one_process profile sampling
        threads weights_away""",
}
FILES = {mark: {f"test_{name}.py" for name in names.split()} for mark, names in FILES.items()}
