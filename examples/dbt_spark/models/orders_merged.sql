-- Right, where rows come in order: the newest rows are merged by their key.
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', file_format='delta') }}

select id, amount, updated_at from {{ source('raw', 'orders') }}
{% if is_incremental() %} where updated_at >= (select max(updated_at) from {{ this }}) {% endif %}
