-- The country is read when the order comes; a customer that moves, or comes after the order, is not seen.
{{ config(materialized='incremental', unique_key='id') }}
select o.id, o.amount, c.country, o.updated_at
from {{ source('raw', 'orders') }} o left join {{ source('raw', 'customers') }} c on c.id = o.customer_id
{% if is_incremental() %}
where o.updated_at >= (select coalesce(max(updated_at), timestamp '1970-01-01') from {{ this }})
{% endif %}
