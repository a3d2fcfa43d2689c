"""The debate study: beliefs become pools, sets and actions. One rule, one program, one table."""


rule import_beliefs:
    """Import one arm's outputs as beliefs; the program follows from the format of what is at hand."""
    input:
        program=lambda wildcards: program(arm(wildcards).program),
        sources=lambda wildcards: arm(wildcards).files,
        sample="results/{run}/{study}/sample.parquet",
    output:
        beliefs="results/{run}/{study}/beliefs/{arm}.parquet",
        flags="results/{run}/{study}/flags/beliefs/{arm}.parquet",
    log:
        "logs/{run}/{study}/import_{arm}.log",
    benchmark:
        "logs/{run}/{study}/import_{arm}.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=lambda wildcards: as_json(arm(wildcards).settings),
        code=lambda wildcards: code(arm(wildcards).program),
    shell:
        "python3 {input.program[0]:q} --sources {input.sources:q} --sample {input.sample:q}"
        " --settings {params.settings:q} --code {params.code}"
        " --beliefs {output.beliefs:q} --flags {output.flags:q} > {log:q} 2>&1"


rule rounds:
    """Coverage, set sizes and actions at one recorded split, with intervals."""
    input:
        program=program("table_rounds"),
        sample="results/{run}/{study}/sample.parquet",
        beliefs=table_inputs("rounds"),
    output:
        table="results/{run}/{study}/tables/rounds.parquet",
        csv=report(
            "results/{run}/{study}/tables/rounds.csv",
            caption="../report/rounds.rst",
            category="{run}",
            subcategory="{study}",
        ),
    log:
        "logs/{run}/{study}/rounds.log",
    benchmark:
        "logs/{run}/{study}/rounds.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=table_settings("rounds"),
        code=code("table_rounds"),
    shell:
        "python3 {input.program[0]:q} --sample {input.sample:q} --beliefs {input.beliefs:q}"
        " --settings {params.settings:q} --code {params.code} --table {output.table:q} > {log:q} 2>&1"


rule groups:
    """Thresholds and coverage of every group of every calibration scheme."""
    input:
        program=program("table_groups"),
        sample="results/{run}/{study}/sample.parquet",
        beliefs=table_inputs("groups"),
    output:
        table="results/{run}/{study}/tables/groups.parquet",
        csv=report(
            "results/{run}/{study}/tables/groups.csv",
            caption="../report/groups.rst",
            category="{run}",
            subcategory="{study}",
        ),
    log:
        "logs/{run}/{study}/groups.log",
    benchmark:
        "logs/{run}/{study}/groups.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=table_settings("groups"),
        code=code("table_groups"),
    shell:
        "python3 {input.program[0]:q} --sample {input.sample:q} --beliefs {input.beliefs:q}"
        " --settings {params.settings:q} --code {params.code} --table {output.table:q} > {log:q} 2>&1"


rule stopping:
    """Consensus stopping beside conformal stopping."""
    input:
        program=program("table_stopping"),
        sample="results/{run}/{study}/sample.parquet",
        beliefs=table_inputs("stopping"),
    output:
        table="results/{run}/{study}/tables/stopping.parquet",
        csv=report(
            "results/{run}/{study}/tables/stopping.csv",
            caption="../report/stopping.rst",
            category="{run}",
            subcategory="{study}",
        ),
    log:
        "logs/{run}/{study}/stopping.log",
    benchmark:
        "logs/{run}/{study}/stopping.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=table_settings("stopping"),
        code=code("table_stopping"),
    shell:
        "python3 {input.program[0]:q} --sample {input.sample:q} --beliefs {input.beliefs:q}"
        " --settings {params.settings:q} --code {params.code} --table {output.table:q} > {log:q} 2>&1"


rule wrong_consensus:
    """What becomes of unanimous answers, wrong and right."""
    input:
        program=program("table_wrong_consensus"),
        sample="results/{run}/{study}/sample.parquet",
        beliefs=table_inputs("wrong_consensus"),
    output:
        table="results/{run}/{study}/tables/wrong_consensus.parquet",
        csv=report(
            "results/{run}/{study}/tables/wrong_consensus.csv",
            caption="../report/wrong_consensus.rst",
            category="{run}",
            subcategory="{study}",
        ),
    log:
        "logs/{run}/{study}/wrong_consensus.log",
    benchmark:
        "logs/{run}/{study}/wrong_consensus.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=table_settings("wrong_consensus"),
        code=code("table_wrong_consensus"),
    shell:
        "python3 {input.program[0]:q} --sample {input.sample:q} --beliefs {input.beliefs:q}"
        " --settings {params.settings:q} --code {params.code} --table {output.table:q} > {log:q} 2>&1"


rule introduced:
    """Errors that the conformal layer introduces, beside those it intercepts."""
    input:
        program=program("table_introduced"),
        sample="results/{run}/{study}/sample.parquet",
        beliefs=table_inputs("introduced"),
    output:
        table="results/{run}/{study}/tables/introduced.parquet",
        csv=report(
            "results/{run}/{study}/tables/introduced.csv",
            caption="../report/introduced.rst",
            category="{run}",
            subcategory="{study}",
        ),
    log:
        "logs/{run}/{study}/introduced.log",
    benchmark:
        "logs/{run}/{study}/introduced.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=table_settings("introduced"),
        code=code("table_introduced"),
    shell:
        "python3 {input.program[0]:q} --sample {input.sample:q} --beliefs {input.beliefs:q}"
        " --settings {params.settings:q} --code {params.code} --table {output.table:q} > {log:q} 2>&1"


rule selection:
    """Selection or reasoning: the majority on the questions that are acted on."""
    input:
        program=program("table_selection"),
        sample="results/{run}/{study}/sample.parquet",
        beliefs=table_inputs("selection"),
    output:
        table="results/{run}/{study}/tables/selection.parquet",
        csv=report(
            "results/{run}/{study}/tables/selection.csv",
            caption="../report/selection.rst",
            category="{run}",
            subcategory="{study}",
        ),
    log:
        "logs/{run}/{study}/selection.log",
    benchmark:
        "logs/{run}/{study}/selection.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=table_settings("selection"),
        code=code("table_selection"),
    shell:
        "python3 {input.program[0]:q} --sample {input.sample:q} --beliefs {input.beliefs:q}"
        " --settings {params.settings:q} --code {params.code} --table {output.table:q} > {log:q} 2>&1"


rule baselines:
    """Accuracy of agents, majority vote, pool and consensus."""
    input:
        program=program("table_baselines"),
        sample="results/{run}/{study}/sample.parquet",
        beliefs=table_inputs("baselines"),
    output:
        table="results/{run}/{study}/tables/baselines.parquet",
        csv=report(
            "results/{run}/{study}/tables/baselines.csv",
            caption="../report/baselines.rst",
            category="{run}",
            subcategory="{study}",
        ),
    log:
        "logs/{run}/{study}/baselines.log",
    benchmark:
        "logs/{run}/{study}/baselines.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=table_settings("baselines"),
        code=code("table_baselines"),
    shell:
        "python3 {input.program[0]:q} --sample {input.sample:q} --beliefs {input.beliefs:q}"
        " --settings {params.settings:q} --code {params.code} --table {output.table:q} > {log:q} 2>&1"


rule consensus_rounds:
    """When the agents first agree, and whether they are right."""
    input:
        program=program("table_consensus_rounds"),
        sample="results/{run}/{study}/sample.parquet",
        beliefs=table_inputs("consensus_rounds"),
    output:
        table="results/{run}/{study}/tables/consensus_rounds.parquet",
        csv=report(
            "results/{run}/{study}/tables/consensus_rounds.csv",
            caption="../report/consensus_rounds.rst",
            category="{run}",
            subcategory="{study}",
        ),
    log:
        "logs/{run}/{study}/consensus_rounds.log",
    benchmark:
        "logs/{run}/{study}/consensus_rounds.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=table_settings("consensus_rounds"),
        code=code("table_consensus_rounds"),
    shell:
        "python3 {input.program[0]:q} --sample {input.sample:q} --beliefs {input.beliefs:q}"
        " --settings {params.settings:q} --code {params.code} --table {output.table:q} > {log:q} 2>&1"


rule weights:
    """Entropy weights and learned weights of every agent."""
    input:
        program=program("table_weights"),
        sample="results/{run}/{study}/sample.parquet",
        beliefs=table_inputs("weights"),
    output:
        table="results/{run}/{study}/tables/weights.parquet",
        csv=report(
            "results/{run}/{study}/tables/weights.csv",
            caption="../report/weights.rst",
            category="{run}",
            subcategory="{study}",
        ),
    log:
        "logs/{run}/{study}/weights.log",
    benchmark:
        "logs/{run}/{study}/weights.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=table_settings("weights"),
        code=code("table_weights"),
    shell:
        "python3 {input.program[0]:q} --sample {input.sample:q} --beliefs {input.beliefs:q}"
        " --settings {params.settings:q} --code {params.code} --table {output.table:q} > {log:q} 2>&1"


rule parse_failures:
    """Statuses of the agents' outputs, per model and domain."""
    input:
        program=program("table_parse_failures"),
        sample="results/{run}/{study}/sample.parquet",
        beliefs=table_inputs("parse_failures"),
    output:
        table="results/{run}/{study}/tables/parse_failures.parquet",
        csv=report(
            "results/{run}/{study}/tables/parse_failures.csv",
            caption="../report/parse_failures.rst",
            category="{run}",
            subcategory="{study}",
        ),
    log:
        "logs/{run}/{study}/parse_failures.log",
    benchmark:
        "logs/{run}/{study}/parse_failures.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=table_settings("parse_failures"),
        code=code("table_parse_failures"),
    shell:
        "python3 {input.program[0]:q} --sample {input.sample:q} --beliefs {input.beliefs:q}"
        " --settings {params.settings:q} --code {params.code} --table {output.table:q} > {log:q} 2>&1"


rule splits:
    """Every rate over recorded splits, beside the exact law of coverage."""
    input:
        program=program("table_splits"),
        sample="results/{run}/{study}/sample.parquet",
        beliefs=table_inputs("splits"),
    output:
        table="results/{run}/{study}/tables/splits.parquet",
        csv=report(
            "results/{run}/{study}/tables/splits.csv",
            caption="../report/splits.rst",
            category="{run}",
            subcategory="{study}",
        ),
    log:
        "logs/{run}/{study}/splits.log",
    benchmark:
        "logs/{run}/{study}/splits.benchmark.tsv"
    conda:
        "../../envs/warrant.yaml"
    params:
        settings=table_settings("splits"),
        code=code("table_splits"),
    shell:
        "python3 {input.program[0]:q} --sample {input.sample:q} --beliefs {input.beliefs:q}"
        " --settings {params.settings:q} --code {params.code} --table {output.table:q} > {log:q} 2>&1"


rule figures:
    """Figures of the debate study, from its tables, as PDF, SVG and PNG."""
    input:
        program=program("figures_debate"),
        stopping="results/{run}/{study}/tables/stopping.parquet",
        splits="results/{run}/{study}/tables/splits.parquet",
    output:
        report(
            expand(
                "results/{{run}}/{{study}}/figures/{figure}.{form}",
                figure=DEBATE_FIGURES,
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
        settings=lambda wildcards: as_json(study_settings(wildcards)),
        code=code("figures_debate"),
        folder=lambda wildcards: f"results/{wildcards.run}/{wildcards.study}/figures",
    shell:
        "python3 {input.program[0]:q} --stopping {input.stopping:q} --splits {input.splits:q}"
        " --settings {params.settings:q} --code {params.code} --folder {params.folder:q} > {log:q} 2>&1"
