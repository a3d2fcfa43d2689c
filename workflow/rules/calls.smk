"""The calling chain: requests are rendered, and what the response store does not hold is asked for.

Answers live in the store, outside Snakemake's outputs: whatever fails, is killed or reruns, no call is paid twice.
"""


rule render:
    """Render one arm's requests from the sample and its prompt: the only rule that reads a prompt."""
    input:
        program=program("render"),
        sources=lambda wildcards: called(wildcards).render.files,
        sample="results/{run}/{study}/sample.parquet",
    output:
        requests="results/{run}/{study}/requests/{arm}.parquet",
    log:
        "logs/{run}/{study}/render_{arm}.log",
    benchmark:
        "logs/{run}/{study}/render_{arm}.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=lambda wildcards: as_json(called(wildcards).render.settings),
        code=code("render"),
    shell:
        "python3 {input.program[0]:q} --sources {input.sources:q} --sample {input.sample:q}"
        " --settings {params.settings:q} --code {params.code} --requests {output.requests:q} > {log:q} 2>&1"


rule query:
    """Ask for what is not stored yet, and write the projection of every answer; fails while one is missing."""
    input:
        program=program("query"),
        requests="results/{run}/{study}/requests/{arm}.parquet",
    output:
        responses="results/{run}/{study}/responses/{arm}.parquet",
    log:
        "logs/{run}/{study}/query_{arm}.log",
    benchmark:
        "logs/{run}/{study}/query_{arm}.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    resources:
        calls=1,
    params:
        settings=query_settings,
        code=code("query"),
    shell:
        "python3 {input.program[0]:q} --requests {input.requests:q} --settings {params.settings:q}"
        " --code {params.code} --responses {output.responses:q} > {log:q} 2>&1"


rule price:
    """See the price first: what the calls that are not stored may cost at most. Asks nobody."""
    input:
        program=program("price"),
        requests=run_requests(),
    log:
        "logs/price.log",
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=price_settings(),
        store=price_store(),
    shell:
        "python3 {input.program[0]:q} --requests {input.requests:q} --store {params.store:q}"
        " --settings {params.settings:q} 2>&1 | tee {log:q}; exit ${{PIPESTATUS[0]}}"
