"""Importers: released outputs become the same artifacts that the calling chain writes."""


rule import_arm:
    """Import one arm's outputs; the program and its settings follow from the format of what is at hand."""
    input:
        program=lambda wildcards: program(f"import_{arm(wildcards).format}"),
        sources=lambda wildcards: arm(wildcards).files,
        sample="results/{run}/{study}/sample.parquet",
    output:
        verdicts="results/{run}/{study}/verdicts/{arm}.parquet",
        flags="results/{run}/{study}/flags/{arm}.parquet",
    log:
        "logs/{run}/{study}/import_{arm}.log",
    benchmark:
        "logs/{run}/{study}/import_{arm}.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=lambda wildcards: as_json(arm(wildcards).settings),
        code=lambda wildcards: code(f"import_{arm(wildcards).format}"),
    shell:
        "python3 {input.program[0]:q} --sources {input.sources:q} --sample {input.sample:q}"
        " --settings {params.settings:q} --code {params.code}"
        " --verdicts {output.verdicts:q} --flags {output.flags:q} > {log:q} 2>&1"
