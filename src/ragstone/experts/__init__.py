"""Labels of experts: rounds of labelling, agreement, edited gold data, and prompts tuned by labels."""

COMMANDS = {
    "agreement": ("ragstone.experts.commands.agreement", "Measure how far different ways of judging agree."),
    "annotate": ("ragstone.experts.commands.annotate", "Label answers, passages or pairs in a browser."),
    "prompts": ("ragstone.experts.commands.prompts", "Show, copy and check the judge's prompts."),
}
