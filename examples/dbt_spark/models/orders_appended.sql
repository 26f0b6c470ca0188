-- Rows that are newer than all others are added: late rows, equal clock values and updates are never read.
{{ config(materialized='incremental', incremental_strategy='append', file_format='delta') }}

select id, amount, updated_at from {{ source('raw', 'orders') }}
{% if is_incremental() %} where updated_at > (select max(updated_at) from {{ this }}) {% endif %}
