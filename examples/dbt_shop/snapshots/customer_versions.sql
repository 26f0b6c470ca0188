{% snapshot customer_versions %}
{{ config(unique_key='id', strategy='timestamp', updated_at='updated_at') }}
select id, country, updated_at from {{ source('raw', 'customers') }}
{% endsnapshot %}
