-- Right where rows come in order: `>=` keeps rows with the clock value of the newest, the key makes them one.
{{ config(materialized='incremental', unique_key='id') }}
select id, customer_id, day, amount, updated_at from {{ source('raw', 'orders') }}
{% if is_incremental() %}
where updated_at >= (select coalesce(max(updated_at), timestamp '1970-01-01') from {{ this }})
{% endif %}
