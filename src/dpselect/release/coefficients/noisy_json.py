"""Public. Noisy moments as plain values, with the numbers that price them."""

from __future__ import annotations

from typing import Any

from dpselect.assume.lemmas.moment_layout import moment_layout
from dpselect.assume.lemmas.moment_sensitivity import MomentScale
from dpselect.assume.models.budget import Guarantee
from dpselect.assume.study.assumptions import Assumptions
from dpselect.randomize.moment_noise import MomentNoise
from dpselect.randomize.noisy_moments import NoisyMoments
from dpselect.release.ledger.records import Receipt


def noisy_to_dict(noisy: NoisyMoments) -> dict[str, Any]:
    """Plain values; doubles survive JSON exactly."""
    noise, scale = noisy.noise, noisy.noise.scale
    return {
        "columns": list(noisy.layout.columns),
        "entries": [[list(cell) for cell in cells] for cells in noisy.layout.entries],
        "values": list(noisy.values),
        "known_rows": noisy.known_rows,
        "noise": {
            "kind": scale.noise,
            "spread": noise.spread,
            "sensitivity": scale.sensitivity,
            "weights": list(scale.weights),
            "bits": scale.bits,
            "response": scale.response,
            "epsilon": noise.epsilon,
            "delta": noise.delta,
            "rho": noise.rho,
        },
    }


def noisy_from_dict(values: dict[str, Any], assumptions: Assumptions) -> NoisyMoments:
    """The inverse of `noisy_to_dict`."""
    noise = values["noise"]
    rho = None if noise["rho"] is None else float(noise["rho"])
    scale = MomentScale(
        noise=noise["kind"],
        response=noise["response"],
        weights=tuple(noise["weights"]),
        bits=noise["bits"],
        sensitivity=noise["sensitivity"],
    )
    return NoisyMoments(
        layout=moment_layout(assumptions, values["columns"]),
        noise=MomentNoise(scale=scale, spread=noise["spread"], epsilon=noise["epsilon"], delta=noise["delta"], rho=rho),
        values=tuple(values["values"]),
        known_rows=values["known_rows"],
    )


def release_from_dict(values: dict[str, Any]) -> dict[str, Any]:
    """What every release carries: its guarantee, its receipt and the version that made it."""
    return {
        "guarantee": Guarantee(**values["guarantee"]),
        "receipt": Receipt.from_json(values["receipt"]) if values["receipt"] else None,
        "version": values["version"],
    }
