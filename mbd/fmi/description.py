"""Description of a unit, ``modelDescription.xml`` of FMI 3.0."""

from collections.abc import Sequence
from xml.etree import ElementTree

from mbd.base.public import VERSION
from mbd.files.units import unit
from mbd.fmi.variables import Variable

_VARIABILITY = {"input": "continuous", "output": "continuous", "parameter": "fixed"}
_POWERS = ("kg", "m", "s", "rad")


def described(
    variables: Sequence[Variable], name: str, identifier: str, token: str, step: float
) -> bytes:
    """Return the XML file; the value references of variables count from 1, 0 is time.

    Parameters
    ----------
    variables : sequence of Variable
    name, identifier, token : str
        Of the model, of its library, and what tells this unit from others.
    step : float [s]
        Largest step of the unit itself.
    """
    root = ElementTree.Element(
        "fmiModelDescription", fmiVersion="3.0", modelName=name, instantiationToken=token,
        generationTool=f"mbd {VERSION}", variableNamingConvention="flat",
    )  # fmt: skip
    ElementTree.SubElement(
        root, "CoSimulation", modelIdentifier=identifier, needsExecutionTool="true",
        canGetAndSetFMUState="true", canHandleVariableCommunicationStepSize="true",
    )  # fmt: skip
    _add_units(root, variables)
    log = ElementTree.SubElement(root, "LogCategories")
    for category in ("logStatusWarning", "logStatusError", "logStatusFatal"):
        ElementTree.SubElement(log, "Category", name=category)
    ElementTree.SubElement(root, "DefaultExperiment", startTime="0.0", stepSize=repr(step))
    all_of_them = ElementTree.SubElement(root, "ModelVariables")
    ElementTree.SubElement(
        all_of_them, "Float64", name="time", valueReference="0", causality="independent",
        variability="continuous", unit="s",
    )  # fmt: skip
    structure = ElementTree.SubElement(root, "ModelStructure")
    for number, x in enumerate(variables, 1):
        about = {"name": x.name, "valueReference": str(number), "causality": x.causality}
        about["variability"] = _VARIABILITY[x.causality]
        if x.start is not None:
            about["start"] = repr(x.start)
        if _powers(x.unit) is not None:
            about["unit"] = x.unit
        if x.causality == "output":
            about["initial"] = "calculated"
        ElementTree.SubElement(all_of_them, "Float64", about)
    for tag in ("Output", "InitialUnknown"):
        for number, x in enumerate(variables, 1):
            if x.causality == "output":
                ElementTree.SubElement(structure, tag, valueReference=str(number))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="UTF-8", xml_declaration=True)


def _powers(text: str) -> tuple[int, ...] | None:
    """Return the powers of kg, m, s and rad in a unit, or None where it is none alone."""
    try:
        return unit(text).powers if text else None
    except ValueError:  # "m or -", of the largest violation of a row
        return None


def _add_units(root: ElementTree.Element, variables: Sequence[Variable]) -> None:
    definitions = ElementTree.SubElement(root, "UnitDefinitions")
    for text in dict.fromkeys(["s", *(x.unit for x in variables)]):
        powers = _powers(text)
        if powers is not None:
            base = {name: str(n) for name, n in zip(_POWERS, powers, strict=True) if n}
            ElementTree.SubElement(
                ElementTree.SubElement(definitions, "Unit", name=text), "BaseUnit", base
            )
