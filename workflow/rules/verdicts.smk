"""Verdicts: parsed answers and released outputs become the same artifacts, and nothing downstream knows which."""


rule verdicts:
    """Parse an arm's answers, or import its released outputs: the program follows from where they come from."""
    input:
        program=lambda wildcards: program(arm(wildcards).program),
        sources=lambda wildcards: arm(wildcards).files,
        sample="results/{run}/{study}/sample.parquet",
    output:
        verdicts="results/{run}/{study}/verdicts/{arm}.parquet",
        flags="results/{run}/{study}/flags/{arm}.parquet",
    log:
        "logs/{run}/{study}/verdicts_{arm}.log",
    benchmark:
        "logs/{run}/{study}/verdicts_{arm}.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=lambda wildcards: as_json(arm(wildcards).settings),
        code=lambda wildcards: code(arm(wildcards).program),
    shell:
        "python3 {input.program[0]:q} --sources {input.sources:q} --sample {input.sample:q}"
        " --settings {params.settings:q} --code {params.code}"
        " --verdicts {output.verdicts:q} --flags {output.flags:q} > {log:q} 2>&1"
