"""Tables of the verdict study beside the ladder: what lies behind its numbers, and what they are worth."""


rule rates:
    """Every rate that is printed with an interval, with exact limits beside Wilson's."""
    input:
        program=program("table_rates"),
        sample="results/{run}/{study}/sample.parquet",
        verdicts=table_inputs("rates"),
    output:
        table="results/{run}/{study}/tables/rates.parquet",
        csv=report(
            "results/{run}/{study}/tables/rates.csv",
            caption="../report/rates.rst",
            category="{run}",
            subcategory="{study}",
        ),
    log:
        "logs/{run}/{study}/rates.log",
    benchmark:
        "logs/{run}/{study}/rates.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=table_settings("rates"),
        code=code("table_rates"),
    shell:
        "python3 {input.program[0]:q} --sample {input.sample:q} --verdicts {input.verdicts:q}"
        " --settings {params.settings:q} --code {params.code} --table {output.table:q}"
        " > {log:q} 2>&1"


rule bounds:
    """Least and greatest value of every rate, whatever the answers that did not come would have been."""
    input:
        program=program("table_bounds"),
        sample="results/{run}/{study}/sample.parquet",
        verdicts=table_inputs("bounds"),
    output:
        table="results/{run}/{study}/tables/bounds.parquet",
        csv=report(
            "results/{run}/{study}/tables/bounds.csv",
            caption="../report/bounds.rst",
            category="{run}",
            subcategory="{study}",
        ),
    log:
        "logs/{run}/{study}/bounds.log",
    benchmark:
        "logs/{run}/{study}/bounds.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=table_settings("bounds"),
        code=code("table_bounds"),
    shell:
        "python3 {input.program[0]:q} --sample {input.sample:q} --verdicts {input.verdicts:q}"
        " --settings {params.settings:q} --code {params.code} --table {output.table:q}"
        " > {log:q} 2>&1"


rule confidence:
    """Stated confidence of commits that override a conflict, beside correct ones; calibration bins."""
    input:
        program=program("table_confidence"),
        sample="results/{run}/{study}/sample.parquet",
        verdicts=table_inputs("confidence"),
    output:
        table="results/{run}/{study}/tables/confidence.parquet",
        csv=report(
            "results/{run}/{study}/tables/confidence.csv",
            caption="../report/confidence.rst",
            category="{run}",
            subcategory="{study}",
        ),
        bins="results/{run}/{study}/tables/confidence_bins.parquet",
        bins_csv=report(
            "results/{run}/{study}/tables/confidence_bins.csv",
            caption="../report/confidence_bins.rst",
            category="{run}",
            subcategory="{study}",
        ),
        values="results/{run}/{study}/tables/confidence_values.parquet",
        values_csv=report(
            "results/{run}/{study}/tables/confidence_values.csv",
            caption="../report/confidence_values.rst",
            category="{run}",
            subcategory="{study}",
        ),
    log:
        "logs/{run}/{study}/confidence.log",
    benchmark:
        "logs/{run}/{study}/confidence.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=table_settings("confidence"),
        code=code("table_confidence"),
    shell:
        "python3 {input.program[0]:q} --sample {input.sample:q} --verdicts {input.verdicts:q}"
        " --settings {params.settings:q} --code {params.code} --table {output.table:q} --bins {output.bins:q} --values {output.values:q}"
        " > {log:q} 2>&1"


rule sweep:
    """Threshold controllers E and F over a grid of thresholds."""
    input:
        program=program("table_sweep"),
        sample="results/{run}/{study}/sample.parquet",
        verdicts=table_inputs("sweep"),
    output:
        table="results/{run}/{study}/tables/sweep.parquet",
        csv=report(
            "results/{run}/{study}/tables/sweep.csv",
            caption="../report/sweep.rst",
            category="{run}",
            subcategory="{study}",
        ),
    log:
        "logs/{run}/{study}/sweep.log",
    benchmark:
        "logs/{run}/{study}/sweep.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=table_settings("sweep"),
        code=code("table_sweep"),
    shell:
        "python3 {input.program[0]:q} --sample {input.sample:q} --verdicts {input.verdicts:q}"
        " --settings {params.settings:q} --code {params.code} --table {output.table:q}"
        " > {log:q} 2>&1"


rule frontier:
    """E and F where their coverages are equal, and over the coverage that both reach."""
    input:
        program=program("table_frontier"),
        sample="results/{run}/{study}/sample.parquet",
        verdicts=table_inputs("frontier"),
    output:
        table="results/{run}/{study}/tables/frontier.parquet",
        csv=report(
            "results/{run}/{study}/tables/frontier.csv",
            caption="../report/frontier.rst",
            category="{run}",
            subcategory="{study}",
        ),
        summary="results/{run}/{study}/tables/sweep_summary.parquet",
        summary_csv=report(
            "results/{run}/{study}/tables/sweep_summary.csv",
            caption="../report/sweep_summary.rst",
            category="{run}",
            subcategory="{study}",
        ),
    log:
        "logs/{run}/{study}/frontier.log",
    benchmark:
        "logs/{run}/{study}/frontier.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=table_settings("frontier"),
        code=code("table_frontier"),
    shell:
        "python3 {input.program[0]:q} --sample {input.sample:q} --verdicts {input.verdicts:q}"
        " --settings {params.settings:q} --code {params.code} --table {output.table:q} --summary {output.summary:q}"
        " > {log:q} 2>&1"


rule risk:
    """Choosing a controller on half of the claims under a bound on CPO_N: the paper's negative result."""
    input:
        program=program("table_risk"),
        sample="results/{run}/{study}/sample.parquet",
        verdicts=table_inputs("risk"),
    output:
        table="results/{run}/{study}/tables/risk.parquet",
        csv=report(
            "results/{run}/{study}/tables/risk.csv",
            caption="../report/risk.rst",
            category="{run}",
            subcategory="{study}",
        ),
        choices="results/{run}/{study}/tables/risk_choices.parquet",
        choices_csv=report(
            "results/{run}/{study}/tables/risk_choices.csv",
            caption="../report/risk_choices.rst",
            category="{run}",
            subcategory="{study}",
        ),
    log:
        "logs/{run}/{study}/risk.log",
    benchmark:
        "logs/{run}/{study}/risk.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=table_settings("risk"),
        code=code("table_risk"),
    shell:
        "python3 {input.program[0]:q} --sample {input.sample:q} --verdicts {input.verdicts:q}"
        " --settings {params.settings:q} --code {params.code} --table {output.table:q} --choices {output.choices:q}"
        " > {log:q} 2>&1"


rule utility:
    """What outcomes are worth under cost profiles, and where two systems break even."""
    input:
        program=program("table_utility"),
        sample="results/{run}/{study}/sample.parquet",
        verdicts=table_inputs("utility"),
    output:
        table="results/{run}/{study}/tables/utility.parquet",
        csv=report(
            "results/{run}/{study}/tables/utility.csv",
            caption="../report/utility.rst",
            category="{run}",
            subcategory="{study}",
        ),
        outcomes="results/{run}/{study}/tables/utility_outcomes.parquet",
        outcomes_csv=report(
            "results/{run}/{study}/tables/utility_outcomes.csv",
            caption="../report/utility_outcomes.rst",
            category="{run}",
            subcategory="{study}",
        ),
        break_even="results/{run}/{study}/tables/break_even.parquet",
        break_even_csv=report(
            "results/{run}/{study}/tables/break_even.csv",
            caption="../report/break_even.rst",
            category="{run}",
            subcategory="{study}",
        ),
    log:
        "logs/{run}/{study}/utility.log",
    benchmark:
        "logs/{run}/{study}/utility.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=table_settings("utility"),
        code=code("table_utility"),
    shell:
        "python3 {input.program[0]:q} --sample {input.sample:q} --verdicts {input.verdicts:q}"
        " --settings {params.settings:q} --code {params.code} --table {output.table:q} --outcomes {output.outcomes:q} --break_even {output.break_even:q}"
        " > {log:q} 2>&1"


rule anatomy:
    """How the votes of a panel lie behind its commits on gold-conflicting claims."""
    input:
        program=program("table_anatomy"),
        sample="results/{run}/{study}/sample.parquet",
        verdicts=table_inputs("anatomy"),
    output:
        table="results/{run}/{study}/tables/anatomy.parquet",
        csv=report(
            "results/{run}/{study}/tables/anatomy.csv",
            caption="../report/anatomy.rst",
            category="{run}",
            subcategory="{study}",
        ),
    log:
        "logs/{run}/{study}/anatomy.log",
    benchmark:
        "logs/{run}/{study}/anatomy.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=table_settings("anatomy"),
        code=code("table_anatomy"),
    shell:
        "python3 {input.program[0]:q} --sample {input.sample:q} --verdicts {input.verdicts:q}"
        " --settings {params.settings:q} --code {params.code} --table {output.table:q}"
        " > {log:q} 2>&1"


rule taxonomy:
    """What the certificate says about the claims on which each judge commits."""
    input:
        program=program("table_taxonomy"),
        sample="results/{run}/{study}/sample.parquet",
        verdicts=table_inputs("taxonomy"),
    output:
        table="results/{run}/{study}/tables/taxonomy.parquet",
        csv=report(
            "results/{run}/{study}/tables/taxonomy.csv",
            caption="../report/taxonomy.rst",
            category="{run}",
            subcategory="{study}",
        ),
    log:
        "logs/{run}/{study}/taxonomy.log",
    benchmark:
        "logs/{run}/{study}/taxonomy.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=table_settings("taxonomy"),
        code=code("table_taxonomy"),
    shell:
        "python3 {input.program[0]:q} --sample {input.sample:q} --verdicts {input.verdicts:q}"
        " --settings {params.settings:q} --code {params.code} --table {output.table:q}"
        " > {log:q} 2>&1"


rule residual:
    """Which CPO commits each rung of the ladder leaves, resolves, or adds."""
    input:
        program=program("table_residual"),
        sample="results/{run}/{study}/sample.parquet",
        verdicts=table_inputs("residual"),
    output:
        table="results/{run}/{study}/tables/residual.parquet",
        csv=report(
            "results/{run}/{study}/tables/residual.csv",
            caption="../report/residual.rst",
            category="{run}",
            subcategory="{study}",
        ),
    log:
        "logs/{run}/{study}/residual.log",
    benchmark:
        "logs/{run}/{study}/residual.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=table_settings("residual"),
        code=code("table_residual"),
    shell:
        "python3 {input.program[0]:q} --sample {input.sample:q} --verdicts {input.verdicts:q}"
        " --settings {params.settings:q} --code {params.code} --table {output.table:q}"
        " > {log:q} 2>&1"


rule screening:
    """Screening models: can confidence or structure tell conflicts among directional outputs?"""
    input:
        program=program("table_screening"),
        sample="results/{run}/{study}/sample.parquet",
        verdicts=table_inputs("screening"),
    output:
        table="results/{run}/{study}/tables/screening.parquet",
        csv=report(
            "results/{run}/{study}/tables/screening.csv",
            caption="../report/screening.rst",
            category="{run}",
            subcategory="{study}",
        ),
        contrast="results/{run}/{study}/tables/screening_contrast.parquet",
        contrast_csv=report(
            "results/{run}/{study}/tables/screening_contrast.csv",
            caption="../report/screening_contrast.rst",
            category="{run}",
            subcategory="{study}",
        ),
        scores="results/{run}/{study}/tables/screening_scores.parquet",
        scores_csv=report(
            "results/{run}/{study}/tables/screening_scores.csv",
            caption="../report/screening_scores.rst",
            category="{run}",
            subcategory="{study}",
        ),
    log:
        "logs/{run}/{study}/screening.log",
    benchmark:
        "logs/{run}/{study}/screening.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=table_settings("screening"),
        code=code("table_screening"),
    shell:
        "python3 {input.program[0]:q} --sample {input.sample:q} --verdicts {input.verdicts:q}"
        " --settings {params.settings:q} --code {params.code} --table {output.table:q} --contrast {output.contrast:q} --scores {output.scores:q}"
        " > {log:q} 2>&1"


rule profiles:
    """How long claims, evidence and prompts are, by gold label."""
    input:
        program=program("table_profiles"),
        sample="results/{run}/{study}/sample.parquet",
        sources=lambda wildcards: study(wildcards).tables["profiles"].files,
    output:
        table="results/{run}/{study}/tables/profiles.parquet",
        csv=report(
            "results/{run}/{study}/tables/profiles.csv",
            caption="../report/profiles.rst",
            category="{run}",
            subcategory="{study}",
        ),
    log:
        "logs/{run}/{study}/profiles.log",
    benchmark:
        "logs/{run}/{study}/profiles.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=table_settings("profiles"),
        code=code("table_profiles"),
    shell:
        "python3 {input.program[0]:q} --sample {input.sample:q} --sources {input.sources:q}"
        " --settings {params.settings:q} --code {params.code} --table {output.table:q} > {log:q} 2>&1"


rule figures_verdict:
    """Figures of the verdict study, from its tables, as PDF, SVG and PNG."""
    input:
        program=program("figures_verdict"),
        tables=figure_tables,
    output:
        report(
            expand(
                "results/{{run}}/{{study}}/figures/{figure}.{form}",
                figure=list(DRAWN_FROM),
                form=["pdf", "svg", "png"],
            ),
            caption="../report/figures.rst",
            category="{run}",
            subcategory="{study}",
        ),
    log:
        "logs/{run}/{study}/figures.log",
    benchmark:
        "logs/{run}/{study}/figures.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        code=code("figures_verdict"),
        folder=lambda wildcards: f"results/{wildcards.run}/{wildcards.study}/figures",
    shell:
        "python3 {input.program[0]:q} --tables {input.tables:q} --code {params.code}"
        " --folder {params.folder:q} > {log:q} 2>&1"
