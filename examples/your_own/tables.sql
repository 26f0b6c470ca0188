-- Twelve dynamic tables, and a view that several of them read.
CREATE VIEW priced AS
  SELECT s.id, s.shop_id, s.customer_id, s.at, s.pieces, a.kind, CAST(s.pieces * a.price AS DECIMAL(18,2)) AS value
  FROM sales s JOIN articles a ON a.id = s.article_id;

CREATE DYNAMIC TABLE by_region TARGET_LAG = '5 minutes' AS
  SELECT sh.region, COUNT(*) AS n, SUM(p.value) AS value
  FROM shops sh LEFT JOIN priced p ON p.shop_id = sh.id
  GROUP BY sh.region;

CREATE DYNAMIC TABLE big_sales AS
  SELECT id, shop_id, value FROM priced WHERE value > 100.00 AND kind LIKE 'wine%';

CREATE DYNAMIC TABLE net_pieces AS
  SELECT s.id, s.pieces - COALESCE(r.pieces, 0) AS pieces
  FROM sales s
  LEFT JOIN (SELECT sale_id, SUM(pieces) AS pieces FROM returned GROUP BY sale_id) r ON r.sale_id = s.id;

CREATE DYNAMIC TABLE last_sale AS
  SELECT shop_id, id, at FROM sales
  QUALIFY ROW_NUMBER() OVER (PARTITION BY shop_id ORDER BY at DESC NULLS LAST, id DESC) = 1;

CREATE DYNAMIC TABLE unsold AS
  SELECT a.id, CASE WHEN a.price IS NULL THEN 'no price' WHEN a.price < 5 THEN 'cheap' ELSE 'dear' END AS class
  FROM articles a
  WHERE NOT EXISTS (SELECT 1 FROM sales s WHERE s.article_id = a.id);

CREATE DYNAMIC TABLE regions_of_big_sales AS
  SELECT DISTINCT sh.region FROM big_sales b JOIN shops sh ON sh.id = b.shop_id;

CREATE DYNAMIC TABLE per_year AS
  SELECT sh.region, YEAR(CAST(p.at AS DATE)) AS year, SUM(p.value) AS value
  FROM priced p JOIN shops sh ON sh.id = p.shop_id
  WHERE p.at >= TIMESTAMP_NTZ '2024-01-01 00:00:00'
  GROUP BY sh.region, YEAR(CAST(p.at AS DATE));

CREATE DYNAMIC TABLE missed_targets TARGET_LAG = DOWNSTREAM AS
  SELECT t.region, t.year, t.amount, y.value
  FROM targets t LEFT JOIN per_year y ON y.region = t.region AND y.year = t.year
  WHERE COALESCE(y.value, 0) < t.amount;

CREATE DYNAMIC TABLE regulars AS
  SELECT customer_id, COUNT(DISTINCT shop_id) AS shops, MAX(at) AS last
  FROM sales WHERE customer_id IS NOT NULL
  GROUP BY customer_id HAVING COUNT(*) > 1;

CREATE DYNAMIC TABLE contacts AS
  SELECT 'customer' AS what, id, name AS text FROM customers
  UNION ALL
  SELECT 'return' AS what, sale_id AS id, reason AS text FROM returned WHERE reason IN ('broken', 'late');

CREATE DYNAMIC TABLE best_articles AS
  SELECT kind, id, price FROM articles WHERE price IS NOT NULL
  QUALIFY RANK() OVER (PARTITION BY kind ORDER BY price DESC, id) <= 2;

CREATE DYNAMIC TABLE never_returned AS
  SELECT id FROM sales EXCEPT SELECT sale_id FROM returned;
