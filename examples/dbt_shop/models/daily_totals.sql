-- A day is replaced by the total of its new rows only: half of the partition is overwritten.
{{ config(materialized='incremental', unique_key='day') }}
select day, count(*) as orders, sum(amount) as amount, max(updated_at) as updated_at from {{ source('raw', 'orders') }}
{% if is_incremental() %}
where updated_at > (select coalesce(max(updated_at), timestamp '1970-01-01') from {{ this }})
{% endif %}
group by day
