"""Macros for BUILD files: `parity_tests` declares one parity test for each hardware of a model."""


def parity_tests(name, model, hardware=("cpu", "qcom", "chestnut"), **fields):
    if len(hardware) == 1:
        each_model = model
    else:
        each_model = parametrize(**{each: f"{model}@hardware={each}" for each in hardware})  # noqa: F821
    parity_test(name=name, model=each_model, **fields)  # noqa: F821  (symbols of BUILD files)
