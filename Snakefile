include: "workflow/Snakefile"


# An include alone builds nothing: the default target is reset after it.
rule default:
    input:
        rules.all.input,
