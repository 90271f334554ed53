"""Gradients and vectorisation of functions that are written in NumPy.

The transforms (`grad`, `vmap`, `jvp` ...) work on Tensors. For ndarrays they give the function arrays that stand for
Tensors (recorded.py): NumPy hands its functions on to these (NEP 13 and 18), and each has a rule here that says which
ops compute the same. So the rules of the ops, their nesting and their tapes serve NumPy's functions, too.

recorded.py     the array that the function sees
numbers.py      how values go between NumPy and Tensors; dtypes; what errors say
ufuncs.py       rules of ufuncs
functions.py    rules of NumPy's other functions
reductions.py   of these, the ones that join elements
products.py     of these, products and linear algebra
indexing.py     elements, read and stored by any index
transforms.py   grad, vmap, jvp and the others, of ndarrays

Whatever has no rule raises TypeError. No array becomes a constant silently: NumPy can't convert a recorded array, and
only a call of `float` itself reads its number.
"""
