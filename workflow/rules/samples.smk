"""Samples: hash-pinned draws from public data sets."""


rule sample:
    """Draw a study's sample; the program and its settings follow from the sample's format."""
    input:
        program=lambda wildcards: program(study(wildcards).sample.program),
        sources=lambda wildcards: study(wildcards).sample.files,
    output:
        sample="results/{run}/{study}/sample.parquet",
        map="results/{run}/{study}/sample_map.json",
        composition="results/{run}/{study}/tables/composition.parquet",
        csv=report(
            "results/{run}/{study}/tables/composition.csv",
            caption="../report/composition.rst",
            category="{run}",
            subcategory="{study}",
        ),
    log:
        "logs/{run}/{study}/sample.log",
    benchmark:
        "logs/{run}/{study}/sample.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=lambda wildcards: as_json(study(wildcards).sample.settings),
        code=lambda wildcards: code(study(wildcards).sample.program),
    shell:
        "python3 {input.program[0]:q} --sources {input.sources:q} --settings {params.settings:q} --code {params.code}"
        " --sample {output.sample:q} --map {output.map:q} --composition {output.composition:q} > {log:q} 2>&1"
