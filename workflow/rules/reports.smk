"""What people read: the audit, the manifest, the page."""


rule audit:
    """Every published number beside the recomputed one."""
    input:
        program=program("audit"),
        tables=run_tables,
        published=lambda wildcards: BLOCKS[wildcards.run].audit,
        findings="config/published/findings.tsv",
    output:
        audit="results/{run}/audit.parquet",
    log:
        "logs/{run}/audit.log",
    benchmark:
        "logs/{run}/audit.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=lambda wildcards: as_json({"missing": run_settings(wildcards)["missing"]}),
        code=code("audit"),
    shell:
        "python3 {input.program[0]:q} --tables {input.tables:q} --published {input.published:q}"
        " --findings {input.findings:q} --settings {params.settings:q} --code {params.code}"
        " --audit {output.audit:q} > {log:q} 2>&1"


rule strict_audit:
    """Stop when an audit status got worse than the committed one (strict_audit=true)."""
    input:
        program=program("strict_audit"),
        audit="results/{run}/audit.parquet",
    output:
        verdict="results/{run}/audit_no_worse.txt",
    log:
        "logs/{run}/strict_audit.log",
    benchmark:
        "logs/{run}/strict_audit.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        code=code("strict_audit"),
    shell:
        "python3 {input.program[0]:q} --audit {input.audit:q} --code {params.code}"
        " --verdict {output.verdict:q} > {log:q} 2>&1"


rule manifest:
    """Inputs and their hashes, configuration, versions, commit, and what is missing and why."""
    input:
        program=program("manifest"),
        sources=lambda wildcards: [str(RAW / SOURCES[row["name"]].file) for row in run_sources(wildcards)],
        artifacts=run_artifacts,
        tables=run_tables,
        flags=run_flags,
    output:
        manifest="results/{run}/manifest.json",
    log:
        "logs/{run}/manifest.log",
    benchmark:
        "logs/{run}/manifest.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=lambda wildcards: as_json({**run_settings(wildcards), "sources": run_sources(wildcards)}),
        code=code("manifest"),
    shell:
        "python3 {input.program[0]:q} --sources {input.sources:q} --artifacts {input.artifacts:q}"
        " --tables {input.tables:q} --flags {input.flags:q} --settings {params.settings:q} --code {params.code}"
        " --manifest {output.manifest:q} > {log:q} 2>&1"


rule cases:
    """Every case of a verdict study: what judges, certificate and controllers say; texts where licences allow."""
    input:
        program=program("cases"),
        sample="results/{run}/{study}/sample.parquet",
        verdicts=lambda wildcards: [
            f"results/{wildcards.run}/{wildcards.study}/verdicts/{name}.parquet" for name in study(wildcards).arms
        ],
    output:
        cases="results/{run}/{study}/cases.json",
    log:
        "logs/{run}/{study}/cases.log",
    benchmark:
        "logs/{run}/{study}/cases.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=case_settings,
        code=code("cases"),
    shell:
        "python3 {input.program[0]:q} --sample {input.sample:q} --verdicts {input.verdicts:q}"
        " --settings {params.settings:q} --code {params.code} --cases {output.cases:q} > {log:q} 2>&1"


rule page:
    """The report that people read: one self-contained HTML page."""
    input:
        program=program("page"),
        template="workflow/report/page.html.j2",
        style="workflow/report/page.css",
        script="workflow/report/page.js",
        manifest="results/{run}/manifest.json",
        tables=run_tables,
        figures=run_figures,
        cases=run_cases,
        audit=lambda wildcards: f"results/{wildcards.run}/audit.parquet" if BLOCKS[wildcards.run].audit else [],
    output:
        page=report("results/{run}/report.html", caption="../report/page.rst", category="{run}"),
    log:
        "logs/{run}/page.log",
    benchmark:
        "logs/{run}/page.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=lambda wildcards: as_json(run_settings(wildcards)),
        code=code("page"),
    shell:
        "python3 {input.program[0]:q} --template {input.template:q} --style {input.style:q} --script {input.script:q}"
        " --manifest {input.manifest:q} --tables {input.tables:q} --figures {input.figures:q} --cases {input.cases:q} --audit {input.audit:q}"
        " --settings {params.settings:q} --code {params.code} --page {output.page:q} > {log:q} 2>&1"
