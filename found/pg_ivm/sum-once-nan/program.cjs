const { PGlite } = require('@electric-sql/pglite')
const { pg_ivm } = require('@electric-sql/pglite-pg_ivm')
const query = 'SELECT SUM(d) AS total FROM r'
const change = "UPDATE r SET d = 'NaN' WHERE d = 0; DELETE FROM r WHERE d = 'NaN'"
async function main() {
  const db = await PGlite.create({ extensions: { pg_ivm } })
  const rows = async (text) => (await db.query(`SELECT total FROM (${text}) v ORDER BY total`)).rows.map(Object.values).join(' ')
  await db.exec("CREATE EXTENSION pg_ivm; CREATE TABLE r (d DOUBLE PRECISION); INSERT INTO r VALUES (1.5), (0)")
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
