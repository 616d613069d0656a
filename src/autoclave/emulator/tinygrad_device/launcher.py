"""What all kernels of an emulated device share, and how one of them is launched."""

from dataclasses import dataclass

from autoclave.emulator.jit import best_target
from autoclave.emulator.launch import Launch, Size3
from autoclave.emulator.program import LaunchStatistics, launch_shape
from autoclave.emulator.tinygrad_device.check import checked_run
from autoclave.emulator.tinygrad_device.settings import Settings
from autoclave.emulator.tinygrad_device.survey import Survey
from autoclave.emulator.tinygrad_device.translations import TranslatedKernel, Translations


@dataclass(frozen=True, slots=True)
class Emulation:
    """Of one device: how it works, its host code, and what ran on it."""

    settings: Settings
    translations: Translations
    survey: Survey

    @classmethod
    def begun(cls, settings: Settings) -> "Emulation":
        """Nothing has run yet."""
        return cls(settings, Translations(best_target(), settings.translations), Survey())

    def finish(self) -> None:
        """At the end of the process: writes the survey, if there is to be one."""
        if self.settings.survey is not None:
            self.survey.write(self.settings.survey)


class Launcher:
    """Launches one kernel, which is translated for each shape of launch when that is met."""

    def __init__(self, emulation: Emulation) -> None:
        self._emulation = emulation
        self._translated: dict[Size3, TranslatedKernel] = {}

    def run(self, launch: Launch) -> LaunchStatistics:
        """Run `launch`, whose kernel is always the same. Raises `EmulationError` for what it must not do."""
        with self._emulation.survey.launch(launch.kernel):
            return self._run(launch)

    def _run(self, launch: Launch) -> LaunchStatistics:
        settings, survey = self._emulation.settings, self._emulation.survey
        known = self._translated.get(launch.local_size)
        if known is not None:
            return known.run(launch, settings.threads)
        kernel = self._translated[launch.local_size] = self._emulation.translations.kernel(launch_shape(launch))
        if not settings.check:
            return kernel.run(launch, settings.threads)
        statistics, elements = checked_run(launch, lambda: kernel.run(launch, settings.threads))
        survey.checked(elements)
        return statistics
