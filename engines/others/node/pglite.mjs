// PostgreSQL with pg_ivm, in memory, on the Unix socket named by the first argument.
// It says "ready" when it listens, and ends with whoever started it: when its standard input closes.
import { PGlite } from '@electric-sql/pglite'
import { pg_ivm } from '@electric-sql/pglite-pg_ivm'
import { PGLiteSocketServer } from '@electric-sql/pglite-socket'

const db = await PGlite.create({ extensions: { pg_ivm } })
await db.exec('CREATE EXTENSION pg_ivm')
const server = new PGLiteSocketServer({ db, path: process.argv[2] })
await server.start()
console.log('ready')
process.stdin.resume()
process.stdin.on('end', () => process.exit(0))
