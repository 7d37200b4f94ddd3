// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Several calls in one transaction, so that the events of several payments stand in one receipt.
contract Batch {
    function run(address[] calldata targets, bytes[] calldata calls) external {
        for (uint256 i = 0; i < targets.length; i++) {
            (bool ok, bytes memory answer) = targets[i].call(calls[i]);
            if (!ok) {
                assembly {
                    revert(add(answer, 0x20), mload(answer))
                }
            }
        }
    }
}
