"""Macros for BUILD files.

`parity_tests` declares one parity test for each hardware of a model. `synthetic_driving_model` declares a small driving model
of synthetic files, one for each of `parts`, with its tests.
"""


def parity_tests(name, model, hardware=("cpu", "qcom", "chestnut"), **fields):
    if len(hardware) == 1:
        each_model = model
    else:
        each_model = parametrize(**{each: f"{model}@hardware={each}" for each in hardware})  # noqa: F821
    parity_test(name=name, model=each_model, **fields)  # noqa: F821  (symbols of BUILD files)


def synthetic_driving_model(name, behavior_version, parts, hardware=("cpu",), **fields):
    for part in parts:
        synthetic_onnx(  # noqa: F821
            name=f"{name}-{part}", architecture=part, scale="S", seed=1, behavior_version=behavior_version
        )
    driving_model(  # noqa: F821
        name=name,
        sources=[f":{name}-{part}" for part in parts],
        behavior_version=behavior_version,
        hardware=hardware[0] if len(hardware) == 1 else parametrize(*hardware),  # noqa: F821
        **fields,
    )
    parity_tests(f"{name}-parity", f":{name}", hardware)
