/** The conformance suite of channels before the simulated GitHub, as an App and as a user. */
import { channelCases } from './channel-cases.ts'
import { exerciseComments } from './channel-comment.suite.ts'
import { exerciseKinds } from './channel-kinds.suite.ts'
import { exerciseMarked } from './channel-marked.suite.ts'
import { exerciseChannel } from './channel.suite.ts'

for (const each of channelCases) {
  for (const identity of each.identities) exerciseChannel(each, identity, 'in the process')
  exerciseChannel(each, 'app', 'over HTTP')
  if (each.name !== 'github-comment' && each.name !== 'github-review') continue
  for (const identity of each.identities) exerciseMarked(each, identity)
}
exerciseComments('app')
exerciseComments('user')
exerciseKinds()
