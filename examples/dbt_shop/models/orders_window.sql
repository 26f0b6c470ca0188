-- The sources promise that rows are at most 3 days late; the window looks back 2.
{{ config(materialized='incremental', unique_key='id') }}
select id, customer_id, day, amount, updated_at from {{ source('raw', 'orders') }}
{% if is_incremental() %}
where updated_at >= (select coalesce(max(updated_at), timestamp '1970-01-01') from {{ this }}) - interval 2 day
{% endif %}
