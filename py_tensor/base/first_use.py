"""The modules of names that are imported on first use; written by `npm run names`."""

PACKAGE = {name: module for module, names in {
    "py_tensor.adapters.iterating": "ndenumerate ndindex nditer",
    "py_tensor.adapters.texts": "array2string array_repr array_str base_repr binary_repr format_float_positional format_float_scientific fromstring genfromtxt loadtxt printoptions savetxt",
    "py_tensor.display.plotting": "bar contour hist plot scatter",
    "py_tensor.emath": "emath",
    "py_tensor.fft": "fft",
    "py_tensor.lib": "lib",
    "py_tensor.linalg": "linalg",
    "py_tensor.numpy.attributes": "array_equiv broadcast_shapes isscalar iterable ndim shape size",
    "py_tensor.numpy.complex_results": "real_if_close sort_complex",
    "py_tensor.numpy.conversions": "asarray_chkfinite asfortranarray from_dlpack require",
    "py_tensor.numpy.differences": "diff ediff1d gradient trapezoid trapz unwrap",
    "py_tensor.numpy.files": "frombuffer fromfile imread load save savez savez_compressed",
    "py_tensor.numpy.functional": "apply_along_axis apply_over_axes choose fromiter frompyfunc piecewise select vectorize",
    "py_tensor.numpy.grids": "c_ diag_indices diag_indices_from diagflat fromfunction geomspace identity index_exp indices ix_ logspace mask_indices mgrid ogrid r_ ravel_multi_index s_ tri tril_indices tril_indices_from triu_indices triu_indices_from unravel_index vander",
    "py_tensor.numpy.histograms": "histogram histogram2d histogram_bin_edges histogramdd",
    "py_tensor.numpy.joining": "append atleast_1d atleast_2d atleast_3d block broadcast broadcast_arrays column_stack delete dsplit dstack fliplr flipud hsplit insert resize rollaxis rot90 trim_zeros vsplit",
    "py_tensor.numpy.numeric": "False_ ScalarType True_ __array_namespace_info__ bytes_ can_cast character clongdouble common_type complexfloating datetime64 dtype errstate finfo flexible floating generic getbufsize geterr geterrcall iinfo inexact integer isdtype issubdtype little_endian longdouble min_scalar_type mintypecode number object_ promote_types result_type sctypeDict setbufsize seterr seterrcall signedinteger str_ timedelta64 typecodes typename unsignedinteger void",
    "py_tensor.numpy.polynomials": "poly poly1d polyadd polyder polydiv polyfit polyint polymul polysub polyval roots",
    "py_tensor.numpy.setops": "intersect1d setdiff1d setxor1d union1d unique unique_all unique_counts unique_inverse unique_values",
    "py_tensor.numpy.statistics": "average corrcoef cov median nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar percentile quantile",
    "py_tensor.ops.kernel": "kernel",
    "py_tensor.ops.products": "convolve correlate cross einsum einsum_path inner kron matvec tensordot vdot vecdot vecmat",
    "py_tensor.ops.window_functions": "bartlett blackman hamming hanning i0 kaiser",
    "py_tensor.polynomial": "polynomial",
    "py_tensor.testing": "testing",
    "py_tensor.tools.explaining": "Explanation explain",
    "py_tensor.tools.profiling": "Profile profile",
    "py_tensor.tools.tuning": "Tuning tune tuning",
    "py_tensor.typing": "typing",
    "py_tensor.ui": "ui",
}.items() for name in names.split()}
RANDOM = {name: module for module, names in {
    "py_tensor.random.legacy": "RandomState default_rng get_bit_generator get_state random_integers ranf sample seed set_bit_generator set_state uniform",
}.items() for name in names.split()}
METHODS = {name: module for module, names in {
    "py_tensor.random.common": "uniform normal lognormal exponential rand randn random random_sample standard_normal standard_exponential randint integers permutation permuted shuffle choice bytes",
    "py_tensor.random.distributions": "gumbel laplace logistic pareto power rayleigh standard_cauchy triangular weibull geometric logseries wald standard_gamma gamma beta chisquare f standard_t noncentral_chisquare noncentral_f negative_binomial vonmises poisson binomial zipf hypergeometric dirichlet multinomial multivariate_hypergeometric multivariate_normal",
}.items() for name in names.split()}
