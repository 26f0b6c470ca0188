// @tanstack/db-ivm as a process, by requests (lines.mjs):
//   {do: "open"}                       forgets everything
//   {do: "define", name, plan, rows}   builds the graph of a view, and sends it the rows that there are
//   {do: "change", table, changes}     sends pairs of a row and its multiplicity to every view; {do: "run"} runs them
//   {do: "rows", name}                 answers the rows of a view, each with its multiplicity
import { D2, MultiSet, concat, distinct, filter, groupBy, groupByOperators, join, map, output } from '@tanstack/db-ivm'
import { serve } from './lines.mjs'

let views = new Map()

// Expressions, with SQL's three values of truth. A row is an object by alias.
const compare = { eq: (a, b) => a === b, ne: (a, b) => a !== b, lt: (a, b) => a < b, le: (a, b) => a <= b,
  gt: (a, b) => a > b, ge: (a, b) => a >= b }

function value(expr, row) {
  const [kind, ...rest] = expr
  if (kind === 'column') return row[rest[0]]?.[rest[1]] ?? null
  if (kind === 'literal') return rest[0]
  const [name, args] = rest
  const of = args.map((arg) => value(arg, row))
  if (name in compare) return of.includes(null) ? null : compare[name](...of)
  if (name === 'and') return of.includes(false) ? false : of.includes(null) ? null : true
  if (name === 'or') return of.includes(true) ? true : of.includes(null) ? null : false
  if (name === 'not') return of[0] === null ? null : !of[0]
  if (name === 'is_null') return of[0] === null
  if (name === 'is_not_null') return of[0] !== null
  throw new Error(`no function ${name}`)
}

// NULL equals nothing: such a row gets a key of its own, the same one when it goes.
function key(exprs, row, side) {
  const of = exprs.map((expr) => value(expr, row))
  return JSON.stringify(of.includes(null) ? [side, row] : of)
}

function relation(plan, inputs) {
  if (plan.kind === 'table') {
    const { name, alias, columns } = plan
    return inputs(name).pipe(map((row) => ({ [alias]: Object.fromEntries(columns.map((c, n) => [c, row[n]])) })))
  }
  const left = relation(plan.left, inputs).pipe(map((row) => [key(plan.on.map(([l]) => l), row, 'left'), row]))
  const right = relation(plan.right, inputs).pipe(map((row) => [key(plan.on.map(([, r]) => r), row, 'right'), row]))
  return left.pipe(join(right, plan.join), map(([, [l, r]]) => ({ ...l, ...r })))
}

const { count, sum, min, max } = groupByOperators
const aggregates = {
  COUNT: (of) => ({ n: count(of) }),
  SUM: (of) => ({ n: count(of), s: sum((row) => of(row) ?? 0) }),
  AVG: (of) => ({ n: count(of), s: sum((row) => of(row) ?? 0) }),
  // The library leaves out what is undefined.
  MIN: (of) => ({ m: min((row) => of(row) ?? undefined) }),
  MAX: (of) => ({ m: max((row) => of(row) ?? undefined) }),
}
const results = {
  COUNT: (part) => part('n'),
  SUM: (part) => (part('n') ? part('s') : null),
  AVG: (part) => (part('n') ? part('s') / part('n') : null),
  MIN: (part) => part('m') ?? null,
  MAX: (part) => part('m') ?? null,
}

function query(plan, inputs) {
  if (plan.kind === 'union') {
    const [first, ...others] = plan.branches.map((branch) => query(branch, inputs))
    const all = others.reduce((stream, other) => stream.pipe(concat(other)), first)
    return plan.all ? all : unique(all)
  }
  let rows = relation(plan.source, inputs)
  if (plan.where) rows = rows.pipe(filter((row) => value(plan.where, row) === true))
  if (!plan.keys) {
    rows = rows.pipe(map((row) => plan.items.map((item) => value(item, row))))
    return plan.distinct ? unique(rows) : rows
  }
  const made = {}
  plan.items.forEach(([kind, name, arg], n) => {
    if (kind !== 'aggregate') return
    const of = (row) => (arg ? value(arg, row) : 1)
    for (const [part, each] of Object.entries(aggregates[name](of))) made[`${n}${part}`] = each
  })
  const by = (row) => Object.fromEntries(plan.keys.map((each, n) => [`k${n}`, value(each, row)]))
  return rows.pipe(groupBy(by, made), map(([, group]) => plan.items.map(([kind, name], n) =>
    kind === 'aggregate' ? results[name]((part) => group[`${n}${part}`]) : group[`k${name}`])))
}

const unique = (rows) => rows.pipe(map((row) => [0, row]), distinct(([, row]) => row), map(([, row]) => row))

function define({ name, plan, rows }) {
  const graph = new D2()
  const inputs = new Map()
  const state = new Map()
  query(plan, (table) => {
    const input = graph.newInput()
    if (!inputs.has(table)) inputs.set(table, [])
    inputs.get(table).push(input)
    return input
  }).pipe(output((message) => {
    for (const [row, multiplicity] of message.getInner()) {
      const text = JSON.stringify(row)
      const now = (state.get(text) ?? 0) + multiplicity
      if (now) state.set(text, now)
      else state.delete(text)
    }
  }))
  graph.finalize()
  views.set(name, { graph, inputs, state })
  for (const [table, changes] of Object.entries(rows)) send(views.get(name), table, changes)
  graph.run()
}

function send(view, table, changes) {
  for (const input of view.inputs.get(table) ?? []) {
    // Rows of its own: the library may keep them.
    input.sendData(new MultiSet(changes.map(([row, multiplicity]) => [[...row], multiplicity])))
  }
}

const handlers = {
  open: () => { views = new Map() },
  define,
  change: ({ table, changes }) => { for (const view of views.values()) send(view, table, changes) },
  run: () => { for (const view of views.values()) view.graph.run() },
  rows: ({ name }) => ({ rows: [...views.get(name).state].map(([text, n]) => [JSON.parse(text), n]) }),
}

await serve(handlers)
