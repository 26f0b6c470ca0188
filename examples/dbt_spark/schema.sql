CREATE TABLE raw.orders (id INT NOT NULL, amount DECIMAL(10,2), updated_at TIMESTAMP NOT NULL, PRIMARY KEY (id));
