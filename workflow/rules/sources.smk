"""Public inputs, verified and linked into data/raw."""


rule source:
    """Bring one source from the cache, the mirror or its address; its hash is checked before it is named."""
    input:
        program=program("fetch_source"),
    output:
        # update: a file that a user put here is verified and kept, never deleted
        update("data/raw/{file}"),
    log:
        "logs/sources/{file}.log",
    benchmark:
        "logs/sources/{file}.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        row=lambda wildcards: as_json(source_row(wildcards).settings()),
        name=lambda wildcards: source_row(wildcards).name,
    shell:
        "python3 {input.program[0]:q} {params.name:q} > {log:q} 2>&1"
