// @tanstack/db as a process, by requests (lines.mjs):
//   {do: "open"}                      forgets everything
//   {do: "table", name, columns, key} creates a collection that is written by its source alone
//   {do: "define", name, plan}        creates a live query, which may read others
//   {do: "change", table, changes}    commits pairs of a row and its multiplicity; rows of one key are an update
//   {do: "rows", name, columns}       answers the rows of a live query
import * as db from '@tanstack/db'
import { serve } from './lines.mjs'

console.warn = () => {}
let tables = new Map()
let views = new Map()

const functions = { eq: db.eq, lt: db.lt, le: db.lte, gt: db.gt, ge: db.gte, and: db.and, or: db.or, not: db.not,
  ne: (a, b) => db.not(db.eq(a, b)), between: (a, low, high) => db.and(db.gte(a, low), db.lte(a, high)),
  is_null: (a) => db.or(db.isNull(a), db.isUndefined(a)),
  is_not_null: (a) => db.not(db.or(db.isNull(a), db.isUndefined(a))),
  is_true: (a) => db.coalesce(a, false), is_false: (a) => db.coalesce(db.not(a), false),
  add: db.add, sub: db.subtract, mul: db.multiply, coalesce: db.coalesce }
const aggregates = { 'COUNT(*)': () => db.count(1), COUNT: db.count, SUM: db.sum, AVG: db.avg, MIN: db.min, MAX: db.max }

function value([kind, ...rest], refs) {
  if (kind === 'column') return refs[rest[0]][rest[1]]
  if (kind === 'literal') return rest[0]
  const [name, args] = rest
  return (kind === 'aggregate' ? aggregates : functions)[name](...args.map((arg) => value(arg, refs)))
}

function source([kind, what]) {
  return kind === 'query' ? query(what, new db.Query()) : tables.get(what)?.collection ?? views.get(what)
}

function query(plan, q) {
  if (plan.branches) return q.unionAll(...plan.branches.map((branch) => query(branch, new db.Query())))
  const [[alias, from], ...joins] = plan.sources
  q = q.from({ [alias]: source(from) })
  for (const [alias, from, kind, on] of joins) q = q.join({ [alias]: source(from) }, (refs) => value(on, refs), kind)
  if (plan.where) q = q.where((refs) => value(plan.where, refs))
  if (plan.keys) q = q.groupBy((refs) => plan.keys.map((each) => value(each, refs)))
  if (plan.having) q = q.having((refs) => value(plan.having, refs))
  q = q.select((refs) => Object.fromEntries(plan.items.map(([name, each]) => [name, value(each, refs)])))
  if (plan.distinct) q = q.distinct()
  for (const [name, direction] of plan.order) {
    // NULL is the least value.
    const nulls = direction === 'asc' ? 'first' : 'last'
    q = q.orderBy(({ $selected }) => $selected[name], { direction, nulls, stringSort: 'lexical' })
  }
  return plan.limit === null ? q : q.limit(plan.limit).offset(plan.offset)
}

function change({ table, changes }) {
  const { sync, columns, key } = tables.get(table)
  const rows = changes.map(([values, copies]) => [Object.fromEntries(columns.map((name, n) => [name, values[n]])), copies])
  const come = new Set(rows.filter(([, copies]) => copies > 0).map(([row]) => key(row)))
  const gone = new Set(rows.filter(([, copies]) => copies < 0).map(([row]) => key(row)))
  sync.begin()
  for (const [value, copies] of rows) {
    if (copies > 0) sync.write({ type: gone.has(key(value)) ? 'update' : 'insert', value })
    else if (!come.has(key(value))) sync.write({ type: 'delete', value })
  }
  sync.commit()
}

const handlers = {
  open: () => {
    for (const each of views.values()) each.cleanup()
    tables = new Map()
    views = new Map()
  },
  table: ({ name, columns, key: names }) => {
    const key = names.length === 1 ? (row) => row[names[0]] : (row) => JSON.stringify(names.map((each) => row[each]))
    const table = { columns, key }
    const start = (sync) => { table.sync = sync; sync.markReady() }
    table.collection = db.createCollection({ id: name, getKey: key, startSync: true, sync: { sync: start } })
    tables.set(name, table)
  },
  define: ({ name, plan }) => {
    const view = db.createLiveQueryCollection({ query: (q) => query(plan, q), startSync: true })
    // Without a subscriber it would be cleaned up after some seconds.
    view.subscribeChanges(() => {})
    views.set(name, view)
  },
  change,
  rows: ({ name, columns }) => ({ rows: views.get(name).toArray.map((row) => columns.map((each) => row[each] ?? null)) }),
}

await serve(handlers)
