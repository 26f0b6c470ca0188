{# Copies the table with the new rows, then writes the copy over it: what another run wrote in between is lost. #}
{% materialization rewritten, adapter='spark' %}
  {%- set target = this.incorporate(type='table') -%}
  {%- set copy = this ~ '_' ~ invocation_id.replace('-', '_') -%}
  {%- if is_first_run() -%}
    {%- call statement('main') -%} create or replace table {{ target }} using delta as {{ sql }} {%- endcall -%}
  {%- else -%}
    {%- call statement('copy') -%}
      create table {{ copy }} using delta as select * from {{ target }} union all {{ sql }}
    {%- endcall -%}
    {%- call statement('main') -%} insert overwrite table {{ target }} select * from {{ copy }} {%- endcall -%}
    {%- call statement('clean') -%} drop table {{ copy }} {%- endcall -%}
  {%- endif -%}
  {{ return({'relations': [target]}) }}
{% endmaterialization %}

{% macro is_first_run() %}
  {{ return(load_relation(this) is none or should_full_refresh()) }}
{% endmacro %}
