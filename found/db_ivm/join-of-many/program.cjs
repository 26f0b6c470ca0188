// A join with 200,000 different rows of one key. NODE_PATH: the folder of the packages.
const { D2, MultiSet, join, output } = require('@tanstack/db-ivm')

const graph = new D2()
const left = graph.newInput()
const right = graph.newInput()
const seen = new Set()
left.pipe(
  join(right),
  output((message) => message.getInner().forEach(([[, [, row]]]) => seen.add(row.a))),
)
graph.finalize()
left.sendData(new MultiSet([[['k', { b: 1 }], 1]]))
right.sendData(new MultiSet(Array.from({ length: 200000 }, (_, a) => [['k', { a }], 1])))
graph.run()
console.log('seen:', seen.size < 200000 ? 'fewer different rows' : '200000 different rows')
console.log('expected: 200000 different rows')
