// The least of NaN and 5. NODE_PATH: the folder of the packages.
const { D2, MultiSet, groupBy, groupByOperators, output } = require('@tanstack/db-ivm')

function least(values) {
  const graph = new D2()
  const input = graph.newInput()
  let found
  input.pipe(
    groupBy(() => ({ k: 1 }), { m: groupByOperators.min((value) => value) }),
    output((message) => message.getInner().forEach(([[, row], n]) => n > 0 && (found = row.m))),
  )
  graph.finalize()
  for (const value of values) input.sendData(new MultiSet([[value, 1]]))
  graph.run()
  return found
}
console.log('seen:', least([NaN, 5]))
console.log('expected:', least([5, NaN]))
