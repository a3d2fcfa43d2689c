"""Tables of the verdict study: one rule, one program, one table."""


rule judges:
    """Rates of every judge, panel and validator, with Wilson intervals and the unpaired gap CPO_C - Ovc_I."""
    input:
        program=program("table_judges"),
        sample="results/{run}/{study}/sample.parquet",
        verdicts=table_inputs("judges"),
    output:
        table="results/{run}/{study}/tables/judges.parquet",
        csv=report(
            "results/{run}/{study}/tables/judges.csv",
            caption="../report/judges.rst",
            category="{run}",
            subcategory="{study}",
        ),
    log:
        "logs/{run}/{study}/judges.log",
    benchmark:
        "logs/{run}/{study}/judges.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=table_settings("judges"),
        code=code("table_judges"),
    shell:
        "python3 {input.program[0]:q} --sample {input.sample:q} --verdicts {input.verdicts:q}"
        " --settings {params.settings:q} --code {params.code} --table {output.table:q} > {log:q} 2>&1"


rule confusion:
    """Confusion matrices of every judge, panel and validator."""
    input:
        program=program("table_confusion"),
        sample="results/{run}/{study}/sample.parquet",
        verdicts=table_inputs("confusion"),
    output:
        table="results/{run}/{study}/tables/confusion.parquet",
        csv=report(
            "results/{run}/{study}/tables/confusion.csv",
            caption="../report/confusion.rst",
            category="{run}",
            subcategory="{study}",
        ),
    log:
        "logs/{run}/{study}/confusion.log",
    benchmark:
        "logs/{run}/{study}/confusion.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=table_settings("confusion"),
        code=code("table_confusion"),
    shell:
        "python3 {input.program[0]:q} --sample {input.sample:q} --verdicts {input.verdicts:q}"
        " --settings {params.settings:q} --code {params.code} --table {output.table:q} > {log:q} 2>&1"


rule ladder:
    """Every rung of interventions, L0 to L5, in exact and in published arithmetic."""
    input:
        program=program("table_ladder"),
        sample="results/{run}/{study}/sample.parquet",
        verdicts=table_inputs("ladder"),
    output:
        table="results/{run}/{study}/tables/ladder.parquet",
        csv=report(
            "results/{run}/{study}/tables/ladder.csv",
            caption="../report/ladder.rst",
            category="{run}",
            subcategory="{study}",
        ),
    log:
        "logs/{run}/{study}/ladder.log",
    benchmark:
        "logs/{run}/{study}/ladder.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=table_settings("ladder"),
        code=code("table_ladder"),
    shell:
        "python3 {input.program[0]:q} --sample {input.sample:q} --verdicts {input.verdicts:q}"
        " --settings {params.settings:q} --code {params.code} --table {output.table:q} > {log:q} 2>&1"


rule arithmetic:
    """The cases on which exact decimals and compensated floats decide differently."""
    input:
        program=program("table_arithmetic"),
        sample="results/{run}/{study}/sample.parquet",
        verdicts=table_inputs("arithmetic"),
    output:
        table="results/{run}/{study}/tables/arithmetic.parquet",
        csv=report(
            "results/{run}/{study}/tables/arithmetic.csv",
            caption="../report/arithmetic.rst",
            category="{run}",
            subcategory="{study}",
        ),
    log:
        "logs/{run}/{study}/arithmetic.log",
    benchmark:
        "logs/{run}/{study}/arithmetic.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=table_settings("arithmetic"),
        code=code("table_arithmetic"),
    shell:
        "python3 {input.program[0]:q} --sample {input.sample:q} --verdicts {input.verdicts:q}"
        " --settings {params.settings:q} --code {params.code} --table {output.table:q} > {log:q} 2>&1"


rule contrasts:
    """Paired contrasts: bootstrap intervals, exact McNemar tests, Holm adjustment."""
    input:
        program=program("table_contrasts"),
        sample="results/{run}/{study}/sample.parquet",
        verdicts=table_inputs("contrasts"),
    output:
        table="results/{run}/{study}/tables/contrasts.parquet",
        csv=report(
            "results/{run}/{study}/tables/contrasts.csv",
            caption="../report/contrasts.rst",
            category="{run}",
            subcategory="{study}",
        ),
    log:
        "logs/{run}/{study}/contrasts.log",
    benchmark:
        "logs/{run}/{study}/contrasts.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=table_settings("contrasts"),
        code=code("table_contrasts"),
    shell:
        "python3 {input.program[0]:q} --sample {input.sample:q} --verdicts {input.verdicts:q}"
        " --settings {params.settings:q} --code {params.code} --table {output.table:q} > {log:q} 2>&1"


rule null:
    """The random-veto null, published and matched, Monte Carlo and exact."""
    input:
        program=program("table_null"),
        sample="results/{run}/{study}/sample.parquet",
        verdicts=table_inputs("null"),
    output:
        table="results/{run}/{study}/tables/null.parquet",
        csv=report(
            "results/{run}/{study}/tables/null.csv",
            caption="../report/null.rst",
            category="{run}",
            subcategory="{study}",
        ),
        distribution="results/{run}/{study}/tables/null_distribution.parquet",
        distribution_csv="results/{run}/{study}/tables/null_distribution.csv",
    log:
        "logs/{run}/{study}/null.log",
    benchmark:
        "logs/{run}/{study}/null.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=table_settings("null"),
        code=code("table_null"),
    shell:
        "python3 {input.program[0]:q} --sample {input.sample:q} --verdicts {input.verdicts:q}"
        " --settings {params.settings:q} --code {params.code} --table {output.table:q}"
        " --distribution {output.distribution:q} > {log:q} 2>&1"


rule veto:
    """Hit rate of the validator's flags on CPO commits, and their false alarms."""
    input:
        program=program("table_veto"),
        sample="results/{run}/{study}/sample.parquet",
        verdicts=table_inputs("veto"),
    output:
        table="results/{run}/{study}/tables/veto.parquet",
        csv=report(
            "results/{run}/{study}/tables/veto.csv",
            caption="../report/veto.rst",
            category="{run}",
            subcategory="{study}",
        ),
    log:
        "logs/{run}/{study}/veto.log",
    benchmark:
        "logs/{run}/{study}/veto.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=table_settings("veto"),
        code=code("table_veto"),
    shell:
        "python3 {input.program[0]:q} --sample {input.sample:q} --verdicts {input.verdicts:q}"
        " --settings {params.settings:q} --code {params.code} --table {output.table:q} > {log:q} 2>&1"


rule accounting:
    """Per arm and judge: answers, retries by cause, refusals, cut-off, empty and unparsed answers, usage."""
    input:
        program=program("table_accounting"),
        verdicts=table_inputs("accounting"),
    output:
        table="results/{run}/{study}/tables/accounting.parquet",
        csv=report(
            "results/{run}/{study}/tables/accounting.csv",
            caption="../report/accounting.rst",
            category="{run}",
            subcategory="{study}",
        ),
    log:
        "logs/{run}/{study}/accounting.log",
    benchmark:
        "logs/{run}/{study}/accounting.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=table_settings("accounting"),
        code=code("table_accounting"),
    shell:
        "python3 {input.program[0]:q} --verdicts {input.verdicts:q}"
        " --settings {params.settings:q} --code {params.code} --table {output.table:q} > {log:q} 2>&1"
