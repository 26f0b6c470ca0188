const { PGlite } = require('@electric-sql/pglite')
const { pg_ivm } = require('@electric-sql/pglite-pg_ivm')
const query = 'SELECT r.k, s.k AS sk, u.k AS uk FROM r LEFT JOIN s ON r.k = s.k JOIN u ON r.k = u.k'
const change = "DELETE FROM s WHERE k = 0"
async function main() {
  const db = await PGlite.create({ extensions: { pg_ivm } })
  const rows = async (text) => (await db.query(`SELECT k, sk, uk FROM (${text}) v ORDER BY k, sk, uk`)).rows.map(Object.values).join(' ')
  await db.exec("CREATE EXTENSION pg_ivm; CREATE TABLE r (k INT); CREATE TABLE s (k INT); CREATE TABLE u (k INT); INSERT INTO r VALUES (0); INSERT INTO s VALUES (0); INSERT INTO u VALUES (0), (0)")
  await db.query('SELECT pgivm.create_immv($1, $2)', ['d', query])
  let seen
  try {
    await db.exec(change)
    seen = await rows('SELECT * FROM d')
  } catch (error) {
    seen = error.message
    await db.exec('DROP TABLE d; ' + change)
  }
  console.log('seen: ' + seen + '\nexpected: ' + (await rows(query)))
}
main().then(() => process.exit(0))
