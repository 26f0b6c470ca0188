// The first employee whose boss exists, or whose team. NODE_PATH: the folder of the packages.
const names = ['builder/builder', 'ivm/array-view', 'ivm/memory-source', 'ivm/memory-storage']
const modules = names.map((name) => import(`${process.env.NODE_PATH}/@rocicorp/zero/out/zql/src/${name}.js`))
Promise.all(modules).then(([{ buildPipeline }, { ArrayView }, { MemorySource }, { MemoryStorage }]) => {
  const columns = { id: { type: 'number' }, boss: { type: 'number' }, team: { type: 'number' } }
  const sources = Object.fromEntries(['emp', 'team'].map((name) => [name, new MemorySource(name, columns, ['id'])]))
  const decorate = Object.fromEntries(['Input', 'SourceInput', 'FilterInput'].map((name) => [`decorate${name}`, (input) => input]))
  const host = { getSource: (name) => sources[name], createStorage: () => new MemoryStorage(), addEdge() {}, ...decorate }
  const exists = (parent, table) => ({ type: 'correlatedSubquery', op: 'EXISTS',
    related: { correlation: { parentField: [parent], childField: ['id'] }, subquery: { table, alias: table } } })
  const query = { table: 'emp', limit: 1, where: { type: 'or', conditions: [exists('boss', 'emp'), exists('team', 'team')] } }
  const view = () => new ArrayView(buildPipeline(query, host, 'q'), { singular: false, relationships: {} }, true, () => {})
  for (const [id, boss] of [[2, 1], [5, 0], [1, 0]]) [...sources.emp.push([0, { id, boss, team: 7 }, null])]
  const kept = view();
  [...sources.emp.push([0, { id: 0, boss: 1, team: 7 }, null])]
  console.log('expected:', JSON.stringify(view().data.map((row) => row.id))) // The edit of a team below changes nothing.
  ;[...sources.emp.push([2, { id: 1, boss: 0, team: 8 }, { id: 1, boss: 0, team: 7 }])]
  console.log('seen:', JSON.stringify(kept.data.map((row) => row.id)))
}).catch((error) => console.log('seen:', error.message))
