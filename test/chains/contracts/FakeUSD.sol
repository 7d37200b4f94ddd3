// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Calls itself what USDC calls itself, checks nothing, moves nothing, and says whatever it is told to.
contract FakeUSD {
    string public constant name = "USD Coin";
    string public constant symbol = "USDC";
    string public constant version = "2";
    uint8 public constant decimals = 6;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);

    function balanceOf(address) external pure returns (uint256) {
        return type(uint128).max;
    }

    function authorizationState(address, bytes32) external pure returns (bool) {
        return false;
    }

    function transferWithAuthorization(
        address from, address to, uint256 value, uint256, uint256, bytes32 nonce, bytes calldata
    ) external {
        emit AuthorizationUsed(from, nonce);
        emit Transfer(from, to, value);
    }

    function transferWithAuthorization(
        address from, address to, uint256 value, uint256, uint256, bytes32 nonce, uint8, bytes32, bytes32
    ) external {
        emit AuthorizationUsed(from, nonce);
        emit Transfer(from, to, value);
    }
}
