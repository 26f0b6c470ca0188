const { PGlite } = require('@electric-sql/pglite')
const { pg_ivm } = require('@electric-sql/pglite-pg_ivm')
const query = 'SELECT a FROM r'
const change = "INSERT INTO r VALUES ('-0.0'), ('0.0')"
async function main() {
  const db = await PGlite.create({ extensions: { pg_ivm } })
  const rows = async (text) => (await db.query(`SELECT a::TEXT FROM (${text}) v ORDER BY a::TEXT`)).rows.map(Object.values).join(' ')
  await db.exec("CREATE EXTENSION pg_ivm; CREATE TABLE r (a DOUBLE PRECISION)")
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
