-- Every row is merged in each run, whatever its clock; a deleted row stays.
{{ config(materialized='incremental', unique_key='id') }}
select id, customer_id, amount from {{ source('raw', 'orders') }}
