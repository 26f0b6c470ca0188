-- A table is always right, but for what it reads.
{{ config(materialized='table') }}
select country, count(*) as orders, sum(amount) as amount from {{ ref('orders_by_country') }} group by country
