-- Without a key, and with `*`: NULL in the clock is never read, a new column of the source never comes.
{{ config(materialized='incremental') }}
select *, current_timestamp as built_at from {{ source('raw', 'visits') }}
{% if is_incremental() %}
where loaded_at > (select coalesce(max(loaded_at), timestamp '1970-01-01') from {{ this }})
{% endif %}
