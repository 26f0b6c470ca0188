-- A payment in cash has no reference, and NULL equals nothing: each run that reads it again adds it again.
{{ config(materialized='incremental', unique_key='reference') }}
select reference, amount, paid_at from {{ source('raw', 'payments') }}
{% if is_incremental() %}
where paid_at >= (select coalesce(max(paid_at), timestamp '1970-01-01') from {{ this }})
{% endif %}
