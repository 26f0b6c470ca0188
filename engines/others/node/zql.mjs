// ZQL of @rocicorp/zero as a process, by requests (lines.mjs):
//   {do: "open"}                             forgets everything
//   {do: "table", name, columns, key}        creates a source of rows; columns: name -> type
//   {do: "define", name, ast, tree, items}   builds the pipeline and the view of a query
//   {do: "change", table, changes}           pushes pairs of a row and its multiplicity; rows of one key are an edit
//   {do: "rows", name}                       answers the rows of a view
// Its package exports the client alone; these modules are what the client and the server build queries with.
import { buildPipeline } from './node_modules/@rocicorp/zero/out/zql/src/builder/builder.js'
import { ArrayView } from './node_modules/@rocicorp/zero/out/zql/src/ivm/array-view.js'
import { MemorySource } from './node_modules/@rocicorp/zero/out/zql/src/ivm/memory-source.js'
import { MemoryStorage } from './node_modules/@rocicorp/zero/out/zql/src/ivm/memory-storage.js'
import { makeSourceChangeAdd, makeSourceChangeEdit, makeSourceChangeRemove } from './node_modules/@rocicorp/zero/out/zql/src/ivm/source.js'
import { consume } from './node_modules/@rocicorp/zero/out/zql/src/ivm/stream.js'
import { serve } from './lines.mjs'

let sources = new Map()
let views = new Map()

const same = (input) => input
const delegate = { getSource: (name) => sources.get(name)?.source, createStorage: () => new MemoryStorage(),
  decorateInput: same, decorateSourceInput: same, decorateFilterInput: same, addEdge() {}, enableNotExists: true }

function change({ table, changes }) {
  const { source, columns, key } = sources.get(table)
  const gone = new Map()
  const come = []
  for (const [values, copies] of changes) {
    const row = Object.fromEntries(columns.map((name, n) => [name, values[n]]))
    if (copies > 0) come.push(row)
    else gone.set(JSON.stringify(key.map((name) => row[name])), row)
  }
  for (const row of come) {
    const of = JSON.stringify(key.map((name) => row[name]))
    const old = gone.get(of)
    gone.delete(of)
    consume(source.push(old ? makeSourceChangeEdit(row, old) : makeSourceChangeAdd(row)))
  }
  for (const row of gone.values()) consume(source.push(makeSourceChangeRemove(row)))
  for (const { view } of views.values()) view.flush()
}

const format = ({ below }) => ({ singular: false, relationships: Object.fromEntries(below.map((each) => [each.alias, format(each)])) })

// The rows of a join: each row with each row below it, or with none.
function flat(row, { alias, below }) {
  let bound = [{ [alias]: row }]
  for (const tree of below) {
    const found = row?.[tree.alias] ?? []
    const parts = found.length ? found.flatMap((each) => flat(each, tree)) : flat(null, tree)
    bound = bound.flatMap((one) => parts.map((other) => ({ ...one, ...other })))
  }
  return bound
}

const handlers = {
  open: () => { sources = new Map(); views = new Map() },
  table: ({ name, columns, key }) => {
    sources.set(name, { source: new MemorySource(name, columns, key), columns: Object.keys(columns), key })
  },
  define: ({ name, ast, tree, items }) => {
    const view = new ArrayView(buildPipeline(ast, delegate, name), format(tree), true, () => {})
    views.set(name, { view, tree, items })
  },
  change,
  rows: ({ name }) => {
    const { view, tree, items } = views.get(name)
    const rows = view.data.flatMap((row) => flat(row, tree))
    return { rows: rows.map((row) => items.map(([kind, of, column]) => kind === 'literal' ? of : row[of]?.[column] ?? null)) }
  },
}

await serve(handlers)
