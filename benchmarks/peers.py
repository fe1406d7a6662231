"""One subset's loss by other programs. Each takes (products, subset, radius) and returns the loss that it found."""

import warnings

import numpy as np


def loss_of(products, subset, coefficients):
    at = list(subset)
    b = np.asarray(coefficients)
    return products[-1, -1] - 2 * products[at, -1] @ b + b @ products[np.ix_(at, at)] @ b


def _split(products, subset):
    """Positive and negative parts: minimize z'Hz/2 - f'z with z >= 0 and sum z <= R."""
    at = list(subset)
    gram, cross = products[np.ix_(at, at)], products[at, -1]
    return np.block([[gram, -gram], [-gram, gram]]), np.concatenate([cross, -cross])


def quadprog_loss(products, subset, radius):
    import quadprog

    h, f = _split(products, subset)
    m = len(subset)
    h[np.diag_indices(2 * m)] += 1e-10 * products[-1, -1]  # it wants a positive definite matrix
    constraints = np.column_stack([np.eye(2 * m), -np.ones(2 * m)])
    bounds = np.zeros(2 * m + 1)
    bounds[-1] = -radius
    z = quadprog.solve_qp(h, f, constraints, bounds)[0]
    return loss_of(products, subset, z[:m] - z[m:])


def lars_loss(products, subset, radius):
    from sklearn.linear_model import lars_path_gram

    at = list(subset)
    _, _, path = lars_path_gram(products[at, -1], products[np.ix_(at, at)], n_samples=1, method="lasso")
    norms = np.abs(path).sum(axis=0)
    if norms[-1] <= radius:
        return loss_of(products, subset, path[:, -1])
    after = int(np.searchsorted(norms, radius))
    share = (radius - norms[after - 1]) / (norms[after] - norms[after - 1])
    return loss_of(products, subset, (1 - share) * path[:, after - 1] + share * path[:, after])


def clarabel_loss(products, subset, radius):
    import clarabel
    from scipy import sparse

    h, f = _split(products, subset)
    m = len(subset)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    rows = sparse.csc_matrix(np.vstack([-np.eye(2 * m), np.ones((1, 2 * m))]))
    right = np.zeros(2 * m + 1)
    right[-1] = radius
    quadratic = sparse.csc_matrix(np.triu(h))
    solver = clarabel.DefaultSolver(quadratic, -f, rows, right, [clarabel.NonnegativeConeT(2 * m + 1)], settings)
    z = np.array(solver.solve().x)
    return loss_of(products, subset, z[:m] - z[m:])


def least_squares_of_all(products, subsets):
    """Batched numpy.linalg.solve, subsets of one size together. The bound on the coefficients is ignored."""
    by_size = {}
    for subset in subsets:
        by_size.setdefault(len(subset), []).append(subset)
    groups = [np.array(group) for group in by_size.values()]

    def run():
        for at in groups:
            crosses = products[at, -1]
            b = np.linalg.solve(products[at[:, :, None], at[:, None, :]], crosses[..., None])[..., 0]
            products[-1, -1] - (b * crosses).sum(axis=1)

    return run


def exhaustive_search(x, y):
    """mlxtend's search through all subsets of the columns, least squares and no cross-validation."""
    from mlxtend.feature_selection import ExhaustiveFeatureSelector
    from sklearn.linear_model import LinearRegression

    def run():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ExhaustiveFeatureSelector(
                LinearRegression(), min_features=1, max_features=x.shape[1], scoring="neg_mean_squared_error", cv=0,
                print_progress=False, n_jobs=1,
            ).fit(x, y)  # fmt: skip

    return run
