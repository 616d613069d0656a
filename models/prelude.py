"""Macros for BUILD files: `parity_tests` declares one parity test for each hardware of a model."""


def parity_tests(name, model, hardware=("cpu", "qcom", "chestnut"), **fields):
    parity_test(  # noqa: F821  (a symbol of BUILD files)
        name=name,
        model=parametrize(**{each: f"{model}@hardware={each}" for each in hardware}),  # noqa: F821
        **fields,
    )
