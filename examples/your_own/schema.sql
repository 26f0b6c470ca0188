-- A chain of shops: what `dvs fuzz --definitions examples/your_own` fills with random rows.
CREATE TABLE shops (
  id INT PRIMARY KEY,
  region STRING NOT NULL,
  opened DATE
);
CREATE TABLE articles (
  id INT PRIMARY KEY,
  kind STRING,
  price DECIMAL(8,2) CHECK (price >= 0)
);
CREATE TABLE customers (
  id INT PRIMARY KEY,
  name STRING,
  since DATE
);
CREATE TABLE sales (
  id BIGINT PRIMARY KEY,
  shop_id INT NOT NULL,
  article_id INT,
  customer_id INT REFERENCES customers (id),
  pieces INT CHECK (pieces BETWEEN 0 AND 1000),
  at TIMESTAMP_NTZ,
  FOREIGN KEY (shop_id) REFERENCES shops (id)
);
-- Rows come from another system: no key, and the same row may come twice.
CREATE TABLE returned (
  sale_id BIGINT,
  pieces INT,
  reason STRING
);
CREATE TABLE targets (
  region STRING,
  year INT,
  amount DECIMAL(12,2),
  PRIMARY KEY (region, year)
);
