-- The tables of the sources, for `dvs dbt examples/dbt_shop --schema examples/dbt_shop/schema.sql`.
CREATE TABLE customers (id INTEGER PRIMARY KEY, country VARCHAR, updated_at TIMESTAMP NOT NULL);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY, customer_id INTEGER, day DATE NOT NULL, amount DECIMAL(10,2), updated_at TIMESTAMP NOT NULL
);
CREATE TABLE order_lines (
    order_id INTEGER, line INTEGER, pieces INTEGER, updated_at TIMESTAMP NOT NULL, PRIMARY KEY (order_id, line)
);
CREATE TABLE visits (visitor INTEGER, page VARCHAR, loaded_at TIMESTAMP);
CREATE TABLE payments (reference VARCHAR UNIQUE, amount DECIMAL(10,2), paid_at TIMESTAMP NOT NULL);
