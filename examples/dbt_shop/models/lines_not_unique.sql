-- The key of a line is (order_id, line): a new line takes the older lines of its order away.
{{ config(materialized='incremental', unique_key='order_id') }}
select order_id, line, pieces, updated_at from {{ source('raw', 'order_lines') }}
{% if is_incremental() %}
where updated_at > (select coalesce(max(updated_at), timestamp '1970-01-01') from {{ this }})
{% endif %}
