"""The table of all forms, category by category."""

from autoclave.emulator.a630.encoding import (
    category0,
    category1,
    category2,
    category3,
    category4,
    category5,
    category6,
    category7,
)
from autoclave.emulator.a630.encoding.form import Form

FORMS: tuple[Form, ...] = (
    *category0.FORMS,
    *category1.FORMS,
    *category2.FORMS,
    *category3.FORMS,
    *category4.FORMS,
    *category5.FORMS,
    *category6.FORMS,
    *category7.FORMS,
)
